/** A cassette that never comes up. */
throw new Error('no luck today');
