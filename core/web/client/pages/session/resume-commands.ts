/** The commands by which harnesses continue a conversation, by the harness's id; the session's id follows. Data for people to copy. */
export const RESUME_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  claude: ['claude', '--resume'],
  codex: ['codex', 'resume'],
};
