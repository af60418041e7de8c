/**
 * What the api and the worker both stand on. Made by the composition root (src/context.ts).
 */
import type { WebhookKeys } from '../accounts/webhook-key.ts';
import type { PinnedDefinitions } from '../catalogue/pinned-definitions.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import type { ObjectStore } from '../files/object-store.ts';
import type { UrlSigner } from '../files/signed-url.ts';
import type { Logger } from '../telemetry/log.ts';

export interface Foundation {
  readonly config: Config;
  readonly logger: Logger;
  readonly database: Database;
  readonly store: ObjectStore;
  readonly urlSigner: UrlSigner;
  readonly definitions: PinnedDefinitions;
  readonly webhookKeys: WebhookKeys;
  readonly egressPolicy: EgressPolicy;
  close(): Promise<void>;
}
