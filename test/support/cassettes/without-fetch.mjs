/** A cassette that never comes up. */
export default { manifest: {} };
