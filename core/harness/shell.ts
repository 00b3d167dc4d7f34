/** The name by which shells are shown, whatever the harness calls its own. */
export const SHELL = 'Bash';
