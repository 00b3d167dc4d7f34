/** A part of the page that is loaded when it is first wanted. Where its script cannot be loaded, that is said, and the page can be loaded again. */
import type { ComponentType } from 'preact';
import { lazy } from 'preact-iso';
import { ProblemError } from '../api/problem-error.ts';
import { Problem } from './problem.tsx';

/**
 * A component in place of the one that is not there yet.
 * @param load imports the module @param name of the component in it
 */
export const late = <Name extends string, Module extends Record<Name, ComponentType<never>>>(
  load: () => Promise<Module>,
  name: Name,
): Module[Name] =>
  lazy(() =>
    load().then(
      (part): ComponentType<never> => part[name],
      () => Unloaded, // a promise that failed would be kept, and the place stay empty for ever
    ),
  ) as unknown as Module[Name]; // which takes the same properties

const Unloaded = () => (
  <Problem
    error={new ProblemError(0, 'part-unloaded', 'This part of the page could not be loaded', '')}
    onRetry={() => location.reload()}
  />
);
