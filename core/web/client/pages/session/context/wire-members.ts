/** The members of a request in the order in which they were sent. */

/** None where it is no JSON object. */
export function membersOf(body: string): string[] {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? Object.keys(value) : [];
  } catch {
    return [];
  }
}
