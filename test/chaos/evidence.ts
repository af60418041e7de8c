/**
 * Everything that a campaign is checked by, when all is quiet again: the logs of the other processes, and the public
 * responses.
 */
import type { Loss, Span } from './losses.ts';
import type { ClientLine, TaskAnswer } from './records.ts';
import type { ProviderLine } from './provider/ledger.ts';
import type { ReceiverLine } from './receivers/log.ts';
import type { TrialRecord } from './trials/trial.ts';

export interface LedgerAnswer {
  readonly kind: string;
  readonly reference: string;
  /** Decimal USD, like all amounts. */
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

/** What the API returns about one account. */
export interface AccountEvidence {
  readonly account: AccountAnswer;
  readonly webhookSecret: string;
  /** All its tasks, and all its ledger entries, oldest first. */
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
  /** Downloads after the end of everything: one of each output that is still listed. */
  readonly downloads: readonly ClientLine[];
  /** Leftovers that should not exist, one line each; only where no response could show them. */
  readonly leftovers: readonly string[];
  /** The findings of `admin ledger verify`. */
  readonly ledgerErrors: readonly string[];
  /** `address:port` of the connections that our processes made. */
  readonly connections: readonly string[];
  readonly allowedAddresses: readonly string[];
  /** When the database lost commits. */
  readonly losses: readonly Loss[];
  /** When text calls ended that their process may not have settled. */
  readonly unsettledTimes: readonly Span[];
  /** Records of the faults that were injected alone. */
  readonly trials: readonly TrialRecord[];
}

/** A state that must never occur. */
export interface Violation {
  readonly invariant: string;
  /** The task, account, entry or address that violates it. */
  readonly subject: string;
  readonly detail: string;
}

/** One invariant; pure, so that it can be shown to detect what it is meant to detect. */
export interface Invariant {
  readonly name: string;
  check(evidence: Evidence): readonly Omit<Violation, 'invariant'>[];
}
