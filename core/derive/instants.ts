/** Arithmetic on instants: texts such as `2026-11-21T09:30:00.123456Z`, which compare in the order of time. */

/** Nanoseconds from one instant to the other, never below zero; null while either is unknown. */
export const durationNs = (from: string, to: string | null): number | null =>
  to === null ? null : Math.max(0, micros(to) - micros(from)) * 1000;

/** The later of two instants; null only when both are unknown. */
export const later = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other > one) ? other : one;

const micros = (instant: string) => Date.parse(`${instant.slice(0, 19)}Z`) * 1000 + Number(instant.slice(20, 26));
