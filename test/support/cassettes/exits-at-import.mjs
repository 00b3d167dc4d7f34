/** A cassette that never comes up. */
process.exit(7);
