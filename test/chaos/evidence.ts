/**
 * Everything that a campaign is checked by, when all is quiet again: the logs of the other processes, and the public
 * responses.
 */
import type { Loss, Span } from './losses.ts';
import type { BatchAnswer, ClientLine, ResponseAnswer, TaskAnswer } from './records.ts';
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

/** A line of a file of results. */
export interface ResultLine {
  readonly customId: string | null;
  /** The task or the text call that the line became, or the text call that it would have become. */
  readonly requestId?: string | undefined;
  readonly status?: number;
  readonly errorCode?: string;
  /** Of a text model. */
  readonly usage?: { readonly input: number; readonly output: number };
}

export interface BatchEvidence {
  readonly batch: BatchAnswer;
  readonly output: readonly ResultLine[];
  readonly errors: readonly ResultLine[];
}

/** What the API returns about one account. */
export interface AccountEvidence {
  readonly account: AccountAnswer;
  readonly webhookSecret: string;
  /** All its tasks, and all its ledger entries, oldest first. */
  readonly tasks: readonly TaskAnswer[];
  readonly ledger: readonly LedgerAnswer[];
  readonly batches: readonly BatchEvidence[];
  /** Every response in the background that it was given the id of; undefined: there is none. */
  readonly responses: ReadonlyMap<string, ResponseAnswer | undefined>;
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
  /** When a text call may have been interrupted: an api, the database, the upstream or the way to it was faulty. */
  readonly interruptions: readonly Span[];
  /** How many requests of each text call were recorded as the operator's possible cost. */
  readonly lostRequests: ReadonlyMap<string, number>;
  /** The ids of text calls whose clients waited for them, by marker. */
  readonly waitedFor: ReadonlyMap<string, { readonly id: string; readonly account: string }>;
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
