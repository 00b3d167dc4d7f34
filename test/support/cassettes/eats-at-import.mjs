/** A cassette that never comes up: it fills its memory. */
for (const eaten = []; ; ) eaten.push(new Array(1e6).fill(Math.random()));
