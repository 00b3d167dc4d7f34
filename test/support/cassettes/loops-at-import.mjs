/** A cassette that never comes up. */
for (;;);
