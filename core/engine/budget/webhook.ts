/** The webhook of a crossed budget: one POST, signed over its exact body, which holds the time at which it was sent. */
import { createHmac } from 'node:crypto';
import type { BudgetCrossing } from '../../model/budget.ts';
import type { Webhook } from '../../model/budget-settings.ts';

type Delivery = { id: string; attempt: number; sentAt: string; crossing: BudgetCrossing };

/**
 * Null: it was taken, with any status of 2xx. Else why not, without the address, which may hold a secret of its own. A redirect is
 * not followed: what is signed goes to the address that the operator set.
 */
export async function postCrossing(
  { url, secret }: Webhook,
  delivery: Delivery,
  { signal, deadlineMs }: { signal: AbortSignal; deadlineMs: number },
): Promise<string | null> {
  const { id, attempt, sentAt, crossing } = delivery;
  const body = JSON.stringify({ event: 'budget_exceeded', id, attempt, sent_at: sentAt, data: crossing });
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'svc',
        ...(secret !== '' && { 'x-svc-signature': signatureOf(body, secret) }),
      },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    });
    await response.body?.cancel();
    return response.ok ? null : `status ${response.status}`;
  } catch (error) {
    return reasonOf(error);
  }
}

const signatureOf = (body: string, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** A code such as ECONNREFUSED, else the error's name: messages quote the address. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as Error;
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : name;
}
