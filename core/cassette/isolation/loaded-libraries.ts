/** The files that this Node needs to run: those that its process has loaded. */

let found: string[] | undefined;

/**
 * Paths of its shared libraries, the dynamic loader among them; none where Node is linked statically. Looked up once: a report
 * blocks the event loop for some ten milliseconds.
 */
export function loadedLibraries(): string[] {
  found ??= inReport();
  return found;
}

function inReport(): string[] {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  report.excludeNetwork = true; // else it resolves the names of all peers, synchronously
  try {
    const { sharedObjects } = report.getReport() as unknown as { sharedObjects: string[] };
    return sharedObjects.filter((path) => path.startsWith('/'));
  } finally {
    report.excludeNetwork = excludeNetwork;
  }
}
