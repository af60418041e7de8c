/**
 * The answer of the first-run role: the account of this installation, and its API key if it was just created.
 */
import { StandaloneError } from './standalone-error.ts';

export interface FirstRunAnswer {
  readonly accountId: string;
  /** Only if it was just created: it is shown once and stored nowhere. */
  readonly apiKey?: string;
  /** Decimal USD, as on the wire. */
  readonly balanceUsd: string;
  /** The secret of a sign-in link to the dashboard, which is valid for ten minutes. */
  readonly signInSecret: string;
}

/** Finds the answer among the lines of the role's output, which may log as well. */
export function parseFirstRun(lines: readonly string[]): FirstRunAnswer {
  for (const line of lines.toReversed()) {
    if (!line.startsWith('{')) continue;
    try {
      const value = JSON.parse(line) as Partial<Record<keyof FirstRunAnswer, unknown>>;
      const { accountId, apiKey, balanceUsd, signInSecret } = value;
      if (typeof accountId !== 'string' || typeof balanceUsd !== 'string' || typeof signInSecret !== 'string') continue;
      return { accountId, balanceUsd, signInSecret, ...(typeof apiKey === 'string' ? { apiKey } : {}) };
    } catch {
      // Not the answer.
    }
  }
  throw new StandaloneError('the step "first-run" named no account');
}
