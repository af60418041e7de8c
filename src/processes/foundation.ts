/**
 * What the api and the worker both stand on. Made by the composition root (src/context.ts).
 */
import type { ActivityContext } from '../../activities/context.ts';
import type { EgressPolicy } from '../egress/policy.ts';
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
  readonly egressPolicy: EgressPolicy;
  readonly tracing: Tracing;
  close(): Promise<void>;
}
