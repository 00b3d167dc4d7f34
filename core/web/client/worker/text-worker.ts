/** The worker in which recorded text is parsed: it may take long or hang, and is then ended, while the page goes on. */
import type { TextRequest, TextTokens, WorkerAnswer } from './tokens.ts';

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
async function parserOf({ kind, text, language = '', before }: TextRequest): Promise<() => TextTokens | null> {
  switch (kind) {
    case 'markdown': {
      const { markdownBlocks } = await import('./markdown-tokens.ts');
      const hasCode = text.includes('```') || text.includes('~~~');
      const { highlight } = hasCode ? await import('./code-tokens.ts') : { highlight: null };
      return () => ({ kind, blocks: markdownBlocks(text, highlight) });
    }
    case 'code': {
      const { highlight } = await import('./code-tokens.ts');
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
