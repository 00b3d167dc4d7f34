/** A running cassette around a fetch of the test; everything else in it is a stub. */

import { type DeclaredManifest, parseManifest } from '../../core/cassette/admission/manifest.ts';
import type { Manifest } from '../../core/cassette/contract.ts';
import type { RunningCassette } from '../../core/cassette/running.ts';

export const cassetteManifest = (name: string, more: Partial<Manifest> = {}): Manifest => ({
  kind: 'svc.cassette/v1',
  cassette: { name, version: '1.0.0' },
  ...more,
});

export const runningCassette = (
  name: string,
  fetch: RunningCassette['fetch'],
): { running: RunningCassette; manifest: DeclaredManifest } => {
  const manifest = cassetteManifest(name);
  return {
    manifest: parseManifest(manifest),
    running: {
      loaded: { manifest, migrations: [], scheduled: false },
      confinement: { level: 'none', stops: [], does_not_stop: [] },
      liveness: () => ({ state: 'up', reason: null, restarts: 0 }),
      progress: () => null,
      fetch,
      scheduled: async () => {},
      close: async () => {},
    },
  };
};
