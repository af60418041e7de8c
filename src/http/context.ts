/**
 * What the HTTP room is given: made once by the composition root (src/context.ts).
 */
import type { Authenticator } from '../accounts/authenticate.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { ObjectStore } from '../files/object-store.ts';
import type { UrlSigner } from '../files/signed-url.ts';
import type { TaskCreator } from '../tasks/create.ts';
import type { TaskDetail } from '../tasks/read.ts';
import type { Logger } from '../telemetry/log.ts';

export interface HttpContext {
  readonly config: Config;
  readonly logger: Logger;
  readonly database: Database;
  readonly store: ObjectStore;
  readonly urlSigner: UrlSigner;
  readonly authenticator: Authenticator;
  readonly catalogue: Catalogue;
  readonly taskCreator: TaskCreator;
  /** There is something in the outbox. */
  wakeLauncher(): void;
  /** A task was read: after the answer, look whether it needs repair. */
  considerRepair(task: TaskDetail): void;
  /** Whether this process takes requests: false from SIGTERM on. */
  isReady(): boolean;
}
