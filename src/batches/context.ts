/** What the work on batches needs, and how it makes a call of a line. Assembled in src/processes/runners.ts. */
import type { BatchEndpoint } from '@darkroom/api/openai/batches';
import type { Authenticator, Caller } from '../accounts/authenticate.ts';
import type { Database } from '../database/database.ts';
import type { DatabaseClock } from '../database/database-clock.ts';
import type { DarkroomError } from '../domain/darkroom-error.ts';
import type { AccountDatabase } from '../limits/row-databases.ts';
import type { ObjectStore } from '../objects/stores/object-store.ts';
import type { OutboxItem } from '../tasks/outbox/outbox.ts';
import type { TaskCreator } from '../tasks/create/create.ts';
import type { TaskDetail } from '../tasks/record/read.ts';
import type { Logger } from '../telemetry/log.ts';
import type { TextSurface } from '../text/source.ts';
import type { LineParsing } from './line.ts';
import type { Paces } from './pace.ts';

/** The response that a request of its own would have got, as it is written into a file of results. */
export interface LineResponse {
  readonly status: number;
  readonly body: unknown;
}

/** The task of a line. */
export interface LineTask {
  /** The body of the create. */
  readonly body: Readonly<Record<string, unknown>>;
  /** An error of the create, with the names that fields have in the line. */
  translate(error: DarkroomError): DarkroomError;
}

interface AnyEndpoint {
  /** The response for a line that is rejected. */
  reject(error: DarkroomError): LineResponse;
}

/** An endpoint whose lines become tasks. */
export interface TaskEndpoint extends AnyEndpoint {
  readonly kind: 'task';
  /** @throws {DarkroomError} the body is rejected. */
  taskOf(caller: Caller, body: unknown): Promise<LineTask>;
  /** The response for a task that has ended. */
  respond(task: TaskDetail): Promise<LineResponse>;
}

/** An endpoint whose lines become text calls in the background. */
export interface TextEndpoint extends AnyEndpoint {
  readonly kind: 'text';
  readonly surface: TextSurface;
  /** Checks what can be known before the call is run. @throws {DarkroomError} the body is rejected. */
  check(caller: Caller, body: unknown): void;
}

/** An endpoint whose requests may be the lines of a batch. */
export type LineEndpoint = TaskEndpoint | TextEndpoint;

export interface BatchContext extends LineParsing {
  readonly database: Database;
  readonly accountDatabase: AccountDatabase;
  readonly store: ObjectStore;
  readonly clock: DatabaseClock;
  readonly logger: Logger;
  readonly installationId: string;
  readonly authenticator: Pick<Authenticator, 'callerOfKey'>;
  readonly taskCreator: Pick<TaskCreator, 'createMany'>;
  readonly endpoints: Readonly<Record<BatchEndpoint, LineEndpoint>>;
  readonly paces: Paces;
  wakeLauncher(claimed?: OutboxItem): void;
  wakeDueWork(): void;
}
