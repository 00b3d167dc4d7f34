/** How the help of each command that takes a session describes it. */
export const SESSION_ARGUMENT =
  "its id or the beginning of it, its number in the last list, or 'last'; any id that belongs to it does as well";
