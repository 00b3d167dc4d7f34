/** A cassette that never comes up. */
await new Promise((resolve) => setTimeout(resolve, 60_000));
