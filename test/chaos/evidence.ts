/** Everything that a campaign is judged by, when all is quiet again: the logs of the others, and the public answers. */
import type { Loss, Span } from './losses.ts';
import type { ClientLine, TaskAnswer } from './records.ts';
import type { ProviderLine } from './provider/ledger.ts';
import type { ReceiverLine } from './receivers/log.ts';
import type { TrialRecord } from './trials/trial.ts';

export interface LedgerAnswer {
  readonly kind: string;
  readonly reference: string;
  /** Decimal USD, as all amounts. */
  readonly amount: string;
  readonly available: string;
  readonly balance: string;
  readonly isEstimated?: boolean;
}

export interface AccountAnswer {
  readonly balance: string;
  readonly held: string;
  readonly available: string;
  readonly usage: { readonly runningTasks: number; readonly queuedTasks: number; readonly textStreams: number };
}

/** What one account is told of itself. */
export interface AccountEvidence {
  readonly account: AccountAnswer;
  readonly webhookSecret: string;
  /** All its tasks, and all entries of its books, oldest first. */
  readonly tasks: readonly TaskAnswer[];
  readonly ledger: readonly LedgerAnswer[];
}

export interface CallbackEvidence {
  readonly state: string;
  readonly attempts: readonly { readonly attempt: number; readonly status: number | null }[];
}

export interface Evidence {
  readonly clients: readonly ClientLine[];
  readonly provider: readonly (ProviderLine & { readonly at: number })[];
  readonly receivers: readonly (ReceiverLine & { readonly at: number })[];
  readonly accounts: ReadonlyMap<string, AccountEvidence>;
  /** By task. */
  readonly callbacks: ReadonlyMap<string, CallbackEvidence>;
  readonly callbackAttemptsAtMost: number;
  /** Downloads after the end of everything: of each output that is still listed. */
  readonly downloads: readonly ClientLine[];
  /** What remains that nothing should have left behind, each in a line; only where no answer could tell. */
  readonly leftovers: readonly string[];
  /** What `admin ledger verify` finds. */
  readonly books: readonly string[];
  /** `address:port` that processes of ours connected to. */
  readonly connections: readonly string[];
  readonly allowedAddresses: readonly string[];
  /** When the database lost commits. */
  readonly losses: readonly Loss[];
  /** When text calls ended that their process may not have settled. */
  readonly unsettledTimes: readonly Span[];
  /** What was seen of the faults that were done alone. */
  readonly trials: readonly TrialRecord[];
}

/** Something that must never be. */
export interface Violation {
  readonly invariant: string;
  /** The task, account, entry or address of which it does not hold. */
  readonly subject: string;
  readonly detail: string;
}

/** One invariant; pure, so that it can be shown to find what it is for. */
export interface Judge {
  readonly invariant: string;
  judge(evidence: Evidence): readonly Omit<Violation, 'invariant'>[];
}
