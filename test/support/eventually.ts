/** Waits for a condition: it is checked again and again, with a deadline that only a hang can reach. */

export async function eventually(holds: () => boolean | Promise<boolean>, deadlineMs = 60_000): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('Cannot wait any longer: it did not happen');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
