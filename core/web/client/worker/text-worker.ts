/** The worker in which recorded text is parsed: it may take long or hang, and is then ended, while the page goes on. */
import type { TextRequest, Tokens, WorkerAnswer } from './tokens.ts';

const post = (answer: WorkerAnswer): void => postMessage(answer);

addEventListener('message', ({ data: { id, request } }: MessageEvent<{ id: number; request: TextRequest }>) => {
  void parserOf(request)
    .then(
      (parse) => {
        post({ id, begun: true });
        post({ id, tokens: parse() });
      },
      () => post({ id, tokens: null }),
    )
    .catch(() => post({ id, tokens: null }));
});

/** Each parser is loaded when it is first needed. */
async function parserOf({ kind, text, language = '', before }: TextRequest): Promise<() => Tokens | null> {
  switch (kind) {
    case 'markdown': {
      const [{ markdownBlocks }, { loadGrammars }] = await Promise.all([
        import('./markdown-tokens.ts'),
        import('./code-tokens.ts'),
      ]);
      const highlight = text.includes('```') || text.includes('~~~') ? await loadGrammars(text) : null;
      return () => ({ kind, blocks: markdownBlocks(text, highlight) });
    }
    case 'code': {
      const { loadGrammar } = await import('./code-tokens.ts');
      const highlight = await loadGrammar(language);
      return () => ({ kind, runs: highlight(language, text) });
    }
    case 'json': {
      const { jsonRuns } = await import('./json-tokens.ts');
      return () => {
        const runs = jsonRuns(text);
        return runs && { kind, runs };
      };
    }
    case 'ansi': {
      const { ansiRuns } = await import('./ansi.ts');
      return () => ({ kind, runs: ansiRuns(text) });
    }
    case 'diff': {
      const { diffLines, unifiedLines } = await import('./diff-tokens.ts');
      return () => {
        const lines = before === undefined ? unifiedLines(text) : diffLines(before, text);
        return lines && { kind, lines };
      };
    }
  }
}
