/**
 * What the api and the worker both stand on. Made by the composition root (src/context.ts).
 */
import type { ActivityContext } from '../../activities/context.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import type { StalledRows } from '../limits/stalled-rows.ts';
import type { Tracing } from '../telemetry/tracing.ts';

/** The part of what activities are given that every process has. */
type Shared = Pick<
  ActivityContext,
  | 'config'
  | 'logger'
  | 'metrics'
  | 'database'
  | 'accountDatabase'
  | 'store'
  | 'urlSigner'
  | 'definitions'
  | 'webhookKeys'
  | 'egress'
  | 'inspector'
  | 'clock'
  | 'now'
>;

export interface Foundation extends Shared {
  /** Accounts whose rows stay locked: those that the account database has waited for in vain, and the launcher. */
  readonly stalledAccounts: StalledRows;
  readonly egressPolicy: EgressPolicy;
  readonly tracing: Tracing;
  close(): Promise<void>;
}
