"""Several processes write one SQLite database in WAL mode at once; every commit must be there, and the database whole.
Usage: sqlite_writers.py DATABASE WRITERS TRANSACTIONS"""

import multiprocessing
import sqlite3
import sys

ROWS_A_TRANSACTION = 10


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=120, isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def write(path: str, writer: int, transactions: int) -> None:
    connection = connect(path)
    for transaction in range(transactions):
        connection.execute("BEGIN IMMEDIATE")
        for row in range(ROWS_A_TRANSACTION):
            key = (transaction * ROWS_A_TRANSACTION + row) * 1000 + writer
            connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (key, writer, bytes(key % 3000)))
        connection.execute("UPDATE counts SET entries = entries + ? WHERE writer = ?", (ROWS_A_TRANSACTION, writer))
        if transaction % 7 == 3:
            connection.execute("DELETE FROM entries WHERE key = ?", (transaction * ROWS_A_TRANSACTION * 1000 + writer,))
            connection.execute("UPDATE counts SET entries = entries - 1 WHERE writer = ?", (writer,))
        connection.execute("COMMIT")
        if transaction % 50 == 49:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def main() -> None:
    path, writers, transactions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    connection = connect(path)
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    assert mode == "wal", f"journal mode {mode}"
    connection.execute("CREATE TABLE entries (key INTEGER PRIMARY KEY, writer INTEGER, value BLOB)")
    connection.execute("CREATE INDEX by_writer ON entries (writer, key)")
    connection.execute("CREATE TABLE counts (writer INTEGER PRIMARY KEY, entries INTEGER)")
    connection.executemany("INSERT INTO counts VALUES (?, 0)", [(writer,) for writer in range(writers)])
    processes = [multiprocessing.Process(target=write, args=(path, w, transactions)) for w in range(writers)]
    for process in processes:
        process.start()
    # Readers find a whole database at every moment.
    while any(process.is_alive() for process in processes):
        found, counted = connection.execute(
            "SELECT (SELECT count(*) FROM entries), (SELECT sum(entries) FROM counts)").fetchone()
        assert found == counted, f"{found} entries where {counted} were counted"
    for process in processes:
        process.join()
        assert process.exitcode == 0, "a writer failed"
    verdict = connection.execute("PRAGMA integrity_check").fetchall()
    assert verdict == [("ok",)], verdict
    for writer, counted in connection.execute("SELECT writer, entries FROM counts").fetchall():
        found = connection.execute("SELECT count(*) FROM entries WHERE writer = ?", (writer,)).fetchone()[0]
        wanted = transactions * ROWS_A_TRANSACTION - sum(1 for t in range(transactions) if t % 7 == 3)
        assert found == counted == wanted, f"writer {writer}: {found} found, {counted} counted, {wanted} committed"
    print(f"{writers * transactions} transactions, database whole")


main()
