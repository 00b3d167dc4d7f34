/** Grants: compares what a cassette asks for with what the operator's list grants, entry by entry. */
import { Binding, type Grants } from '../list/list.ts';
import { Rejection } from '../running.ts';
import type { DeclaredManifest } from './manifest.ts';

export type BindingName = Grants['bindings'][number];

/** The grants that the list needs for the cassette to be admitted. */
export const grantsFor = ({ bindings, depends }: DeclaredManifest): Grants => ({
  bindings: Binding.options.filter((name) => bindings[name]),
  views: [...depends.views],
  extensions: [...depends.extensions],
});

/** @param only the bindings to check; default: all that it asks for. @throws {Rejection} grants, naming what is missing */
export function refuseUngranted(manifest: DeclaredManifest, granted: Grants, only?: readonly BindingName[]): void {
  const requested = grantsFor(manifest);
  const missing = [
    ...requested.bindings
      .filter((name) => (only ? only.includes(name) : true) && !granted.bindings.includes(name))
      .map((name) => `the binding "${name}"`),
    ...(only
      ? []
      : requested.views.filter((view) => !granted.views.includes(view)).map((view) => `the view "${view}"`)),
    ...(only
      ? []
      : requested.extensions
          .filter((name) => !granted.extensions.includes(name))
          .map((name) => `the extension "${name}"`)),
  ];
  if (missing.length > 0)
    throw new Rejection('grants', `Cannot take it: it asks for what was not granted: ${missing.join(', ')}`, missing);
}
