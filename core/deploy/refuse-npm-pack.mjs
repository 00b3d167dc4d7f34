/** Refuses `npm pack`, which would leave out what `npm run tarball` adds: packages whose installation fetches nothing. */
console.error('Cannot pack with npm: its tarball would fetch what svc does not need. Use: npm run tarball');
process.exitCode = 1;
