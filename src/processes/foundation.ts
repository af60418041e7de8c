/**
 * The common foundation of the api and the worker. Created by the composition root (src/context.ts).
 */
import type { ActivityContext } from '../../activities/context.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import type { StalledRows } from '../limits/row-databases.ts';
import type { StoreClaim } from '../objects/stores/claimed-store.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { CredentialProbes } from '../providers/credential-probes.ts';
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts';

/** The part of the activities' context that every process has. */
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
  /**
   * Accounts whose rows stay locked: those for which the account database, or the launcher, could not get the lock in
   * time.
   */
  readonly stalledAccounts: StalledRows;
  /** Opens `store`, once it is known to be that of the installation. */
  readonly storeClaim: StoreClaim;
  readonly upstreamSettings: UpstreamSettings;
  readonly credentialProbes: CredentialProbes;
  readonly egressPolicy: EgressPolicy;
  readonly tracing: Tracing;
  close(): Promise<void>;
}
