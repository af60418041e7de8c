/**
 * The use case behind `POST /tasks`: answering in the order that contract §2 gives, from the key (where a replay ends) to the
 * one transaction that accepts.
 */
import { requireModel } from '../accounts/authenticate.ts';
import type { Caller } from '../accounts/authenticate.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { worstCaseCost } from '../catalogue/price.ts';
import type { Check } from '../catalogue/schema-validation.ts';
import type { Database } from '../database/database.ts';
import { newTaskId, taskIdForKey } from '../domain/ids.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { formatUsd, parseUsd } from '../domain/money.ts';
import { checkUrl } from '../egress/policy.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import { RateLimitedError } from '../limits/rate-limiter.ts';
import { createAcceptor } from './accept-queue.ts';
import { findReplay } from './accept.ts';
import type { Acceptance, NewTask } from './accept.ts';
import { fingerprint } from './fingerprint.ts';
import type { Fingerprint } from './fingerprint.ts';
import { unstorableProblem } from './storable-text.ts';

/** A request body that has the form of wire/create-task.ts. */
export interface CreateRequest {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly callback?: { readonly url: string; readonly when?: 'final' };
  readonly route?: string;
  readonly storage?: 'temp' | 'persistent';
  readonly metadata?: Readonly<Record<string, string>>;
  readonly maxCost?: string;
  readonly timeoutSeconds?: number;
}

/** The request is well-formed and cannot be taken; the message names the field (contract §1). */
export class InvalidTaskError extends Error {
  override readonly name = 'InvalidTaskError';
}

export interface CreateDependencies {
  readonly database: Database;
  readonly catalogue: Catalogue;
  readonly installationId: string;
  readonly egressPolicy: EgressPolicy;
  /** Judges the form of the body. */
  readonly checkBody: Check;
}

export interface TaskCreator {
  /**
   * Creates a task, or finds the one that the same key created.
   *
   * @param body as parsed: the fingerprint is taken over it before anything is filled in.
   * @throws {InvalidTaskError} and the errors of accept.ts, catalogue.ts and authenticate.ts.
   */
  create(
    caller: Caller,
    body: Readonly<Record<string, unknown>>,
    idempotencyKey: string | undefined,
    budget?: CreateBudget,
  ): Promise<Acceptance>;
}

/** The account's creating requests (limits/rate-limiter.ts). */
export interface CreateBudget {
  /** @returns 0, or the seconds to wait because there is no token. */
  take(): Promise<number>;
  giveBack(): void;
}

export function createTaskCreator(dependencies: CreateDependencies): TaskCreator {
  const { database, catalogue, installationId, checkBody } = dependencies;
  const acceptor = createAcceptor(database);
  return {
    async create(caller, body, idempotencyKey, budget) {
      const print = fingerprint(body);
      const waitSeconds = (await budget?.take()) ?? 0;
      if (waitSeconds > 0) {
        // Contract §2: the key is looked up before the limit; a replay is never refused.
        const replayed = await replayOf(caller, idempotencyKey, print);
        if (replayed === undefined) throw new RateLimitedError(waitSeconds);
        return { taskId: replayed, isReplay: true };
      }
      let task: NewTask;
      try {
        task = judge(caller, body, idempotencyKey, print);
      } catch (problem) {
        // Contract §2: the key comes before these checks. A request that passes them has its key looked up by the
        // statement that accepts.
        const replayed = await replayOf(caller, idempotencyKey, print);
        if (replayed === undefined) throw problem;
        budget?.giveBack();
        return { taskId: replayed, isReplay: true };
      }
      const acceptance = await acceptor.accept(task);
      if (acceptance.isReplay) budget?.giveBack();
      return acceptance;
    },
  };

  async function replayOf(
    caller: Caller,
    idempotencyKey: string | undefined,
    print: Fingerprint,
  ): Promise<TaskId | undefined> {
    return idempotencyKey === undefined ? undefined : findReplay(database, caller.accountId, idempotencyKey, print);
  }

  /** Everything that can be said about a request without asking anyone. */
  function judge(
    caller: Caller,
    body: Readonly<Record<string, unknown>>,
    idempotencyKey: string | undefined,
    print: Fingerprint,
  ): NewTask {
    const problem = checkBody(body);
    if (problem !== undefined) throw new InvalidTaskError(problem);
    const request = body as unknown as CreateRequest;
    const model = catalogue.resolve(request.model, request.route);
    requireModel(caller, model.definition.name);
    const inputProblem = model.checkInput(request.input);
    if (inputProblem !== undefined) throw new InvalidTaskError(inputProblem);
    const textProblem = unstorableProblem(body);
    if (textProblem !== undefined) throw new InvalidTaskError(textProblem);
    checkCallback(request, dependencies.egressPolicy);
    checkTimeout(request, model.definition.limits.handlingSeconds);
    const holdMicroUsd = worstCaseCost(model.definition.pricing, request.input);
    checkMaxCost(request, holdMicroUsd);
    return {
      id: idempotencyKey === undefined ? newTaskId() : taskIdForKey(installationId, caller.accountId, idempotencyKey),
      accountId: caller.accountId,
      keyId: caller.keyId,
      idempotencyKey,
      fingerprint: print,
      model: model.fullName,
      route: model.hasRoutes ? model.route : undefined,
      definitionHash: model.hash,
      inputJson: JSON.stringify(request.input),
      metadata: request.metadata,
      storage: request.storage ?? 'temp',
      timeoutSeconds: request.timeoutSeconds,
      queuedSeconds: model.definition.limits.queuedSeconds,
      callbackUrl: request.callback?.url,
      holdMicroUsd,
      inputObjects: [],
      spendCapIds: caller.spendCapIds,
    };
  }
}

function checkCallback(request: CreateRequest, policy: EgressPolicy): void {
  if (request.callback === undefined) return;
  const checked = checkUrl(request.callback.url, policy);
  if (!checked.ok) throw new InvalidTaskError(`invalid request: callback.url: ${checked.problem}`);
}

/** Contract §2: "below the model's own limit". */
function checkTimeout(request: CreateRequest, limitSeconds: number): void {
  const { timeoutSeconds } = request;
  if (timeoutSeconds === undefined || timeoutSeconds <= limitSeconds) return;
  throw new InvalidTaskError(`invalid request: timeoutSeconds: maximum: got ${timeoutSeconds}, want ${limitSeconds}`);
}

function checkMaxCost(request: CreateRequest, worstCaseMicroUsd: bigint): void {
  if (request.maxCost === undefined) return;
  const maxMicroUsd = parseUsd(request.maxCost);
  if (maxMicroUsd !== undefined && worstCaseMicroUsd <= maxMicroUsd) return;
  throw new InvalidTaskError(
    `invalid request: maxCost: the task can cost up to ${formatUsd(worstCaseMicroUsd)} USD, above ${request.maxCost}`,
  );
}
