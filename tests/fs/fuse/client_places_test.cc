#include "fs/fuse/client_places.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

TEST(ClientPlaces, WhoStaysIsLeftAlone) {
  ClientPlaces places;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(places.IsToBeKept(7, 1));
  }
}

TEST(ClientPlaces, WhoMovesIsKeptForAWhile) {
  ClientPlaces places;
  EXPECT_FALSE(places.IsToBeKept(7, 0));
  EXPECT_TRUE(places.IsToBeKept(7, 1));
  for (uint32_t i = 1; i < ClientPlaces::kKeptRequests; ++i) {
    EXPECT_TRUE(places.IsToBeKept(7, 1)) << i;
  }
  EXPECT_FALSE(places.IsToBeKept(7, 1));
  EXPECT_FALSE(places.IsToBeKept(7, 1));
  EXPECT_TRUE(places.IsToBeKept(7, 0));
}

TEST(ClientPlaces, WhoMovesAllTheSameIsKeptFromThereOn) {
  ClientPlaces places;
  places.IsToBeKept(7, 0);
  places.IsToBeKept(7, 1);
  for (uint32_t i = 0; i < ClientPlaces::kKeptRequests; ++i) {
    EXPECT_TRUE(places.IsToBeKept(7, i % 2 == 0 ? 0 : 1)) << i;
  }
}

TEST(ClientPlaces, ClientsAreToldApart) {
  ClientPlaces places;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(places.IsToBeKept(7, 0));
    EXPECT_FALSE(places.IsToBeKept(8, 1));
    // One of the same slot.
    EXPECT_FALSE(places.IsToBeKept(7 + 64, 1));
  }
}

TEST(ClientPlaces, RequestsOfNobodyAreNoClients) {
  ClientPlaces places;
  for (uint16_t i = 0; i < 100; ++i) {
    EXPECT_FALSE(places.IsToBeKept(0, i % 2));
  }
}

}  // namespace
}  // namespace varve
