/**
 * Faults that are injected alone, when the others are over and healed: they test how long other accounts wait, or
 * that nothing at all is lost, and no other fault may be an excuse for that. The clients continue meanwhile.
 */
import type { AccountLimits } from '../../../src/accounts/accounts.ts';
import type { Pace } from '../clients/client.ts';
import type { CreateAttempt } from '../clients/create-task.ts';
import type { ClientLine, Wish } from '../records.ts';
import type { WorldAccount } from '../world/accounts.ts';
import type { World } from '../world/world.ts';

export interface TrialRoom {
  readonly world: World;
  readonly record: (line: ClientLine) => void;
  /** Of the clients that continue meanwhile. */
  readonly pace: Pace;
  /** An account of this trial's own, which is checked with the others at the end. It is opened the first time. */
  openAccount(name: string, limits?: Partial<AccountLimits>): Promise<WorldAccount & { readonly name: string }>;
}

/** What other accounts did during a fault, or just before. */
export interface ProbedPeriod {
  readonly ms: number;
  /** Milliseconds that the campaign's processes waited for a processor, per millisecond that they ran. */
  readonly processorWaits: number;
  /** Durations in milliseconds of those that started in it: until their end, or until the end of the period. */
  readonly took: Readonly<Record<ProbedAction, readonly number[]>>;
  /** How many of them ended in it. */
  readonly done: Readonly<Record<ProbedAction, number>>;
}

/** From the request until it is accepted, until the task is settled, until a cancelled one is over. */
export const PROBED_ACTIONS = ['create', 'settlement', 'cancel'] as const;
export type ProbedAction = (typeof PROBED_ACTIONS)[number];

export type TrialRecord =
  | { readonly kind: 'waiting'; readonly what: string; readonly before: ProbedPeriod; readonly during: ProbedPeriod }
  /** `taskIds`: those whose upstream answers a submit only with its result. */
  | { readonly kind: 'deploy'; readonly taskIds: readonly string[] }
  /** `askedByOurs`: whether this installation, the other or both requested it from the provider. */
  | {
      readonly kind: 'neighbours';
      readonly tasks: readonly {
        readonly marker: string;
        readonly isOurs: boolean;
        readonly status: string;
        readonly askedByOurs: readonly boolean[];
      }[];
    };

export type TrialResult = {
  readonly hasFired: boolean;
  readonly evidence: string;
  readonly trial?: TrialRecord;
};

export function attemptOf({ world, record }: TrialRoom, { key }: WorldAccount, apiUrls = world.apiUrls): CreateAttempt {
  return { apiUrls, apiKey: key, receiverUrl: world.receiverUrl, record };
}

export function wishOf(account: string, number: number | string, model: string, words = ''): Wish {
  const marker = `marker-${account}-${number}-`;
  return { account, key: marker, marker, model, prompt: `${marker} a lake ${words}`, callbackPath: undefined };
}
