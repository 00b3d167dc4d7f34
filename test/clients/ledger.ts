/** What did the ledger book for a client? The requests since, and what became of them. */
import { eventually, read, type Service } from '../support/serve.ts';

type Coverage = { requests: number; outcomes: Record<string, number> };

export const coverage = ({ api }: Service): Promise<Coverage> => read<Coverage>(`${api}/v1/coverage`);

/** Once so many requests have been booked since. */
export const booked = (service: Service, before: Coverage, requests: number): Promise<Coverage> =>
  eventually(`${requests} requests in the ledger`, async () => {
    const now = await coverage(service);
    if (now.requests - before.requests < requests) return null;
    const grown = Object.entries(now.outcomes).map(([name, count]) => [name, count - (before.outcomes[name] ?? 0)]);
    return {
      requests: now.requests - before.requests,
      outcomes: Object.fromEntries(grown.filter(([, count]) => count !== 0)),
    };
  });
