// BoundHeaps: for a process that serves a store.
#pragma once

namespace varve {

// By default malloc gives each thread a heap of its own, and what holes the blocks of the cache leave in one
// is lost to the others: under random reads a daemon with a cache of 16 MiB grew to 115 MiB, with two heaps
// to 96; a cache of 400 MiB that readers and merges filled, to 529, with two heaps to 479.
//
// And it gives back to the system what lies free at a heap's end, from 128 KiB on, to get it again at once:
// one random read in fourteen had a page fault from that. Here up to 16 MiB stay. Before threads are started.
void BoundHeaps();

}  // namespace varve
