/**
 * The use case behind `POST /tasks`: answering in the order that contract §2 gives, from the key (where a replay ends) to the
 * one transaction that accepts.
 */
import { requireModel } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { limitsOf } from '../../catalogue/definition.ts';
import { worstCaseCost } from '../../catalogue/price.ts';
import type { Parse } from '../../schema/schema-validation.ts';
import type { Database } from '../../database/database.ts';
import { newTaskId, taskIdForKey } from '../../domain/ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import type { UrlSigner } from '../../objects/urls/signed-url.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import { RateLimitedError } from '../../limits/rate-limiter.ts';
import { createAcceptor } from './accept-queue.ts';
import { findReplay } from './used-keys.ts';
import type { Acceptance, NewTask } from './accept.ts';
import type { AlongsideAccepting, ManyOutcome } from './accept-many.ts';
import { createMany } from './create-many.ts';
import type { CreateItem, TakeMany } from './create-many.ts';
import { factsOf } from '../record/body-facts.ts';
import type { BodyFacts, LargeBody } from '../record/body-facts.ts';
import type { Fingerprint } from '../record/fingerprint.ts';
import { explainDataUrls, validateMedia, withPlainDataUrls } from '../record/input-media.ts';
import { findCallbackViolation, findMaxCostViolation, findTimeoutViolation } from './request-checks.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import type { Violation } from '@darkroom/api/facts/violation';
import type { CreateTaskBody } from '@darkroom/api/tasks/create-task';

/** The request is well-formed and cannot be accepted; the message names the field (contract §1). */
export class InvalidTaskError extends DarkroomError {
  override readonly name = 'InvalidTaskError';
  override readonly kind = 'invalid_request';
  override readonly param: string;
  override readonly keyword: string;
  readonly valueKind: Violation['valueKind'];

  constructor({ message, field, keyword, valueKind }: Violation) {
    super(message);
    this.param = field;
    this.keyword = keyword;
    this.valueKind = valueKind;
  }
}

export interface CreateDependencies {
  readonly database: Database;
  /** Where tasks are accepted; absent: in `database`, without a bound by account. */
  readonly accountDatabase?: AccountDatabase;
  readonly catalogue: Catalogue;
  readonly installationId: string;
  readonly egressPolicy: EgressPolicy;
  /** Recognises our own URLs in an input. */
  readonly urlSigner: UrlSigner;
  /** Whether this process can deliver starts at this moment; absent: it never does. */
  readonly mayClaim?: () => boolean;
  /** Validates the form of the body. */
  readonly parseBody: Parse<CreateTaskBody>;
}

export interface TaskCreator {
  /**
   * Creates a task, or finds the one that the same key created.
   *
   * @param body as parsed: the fingerprint is taken over it before anything is filled in.
   * @param large set where the body is large, or its facts are not those of the body.
   * @param waiter the request, if it waits for the result on its connection (awaited-responses.ts).
   * @throws {InvalidTaskError} and the errors of accept.ts, catalogue.ts and authenticate.ts.
   */
  create(
    caller: Caller,
    body: Readonly<Record<string, unknown>>,
    idempotencyKey: string | undefined,
    budget?: CreateBudget,
    large?: LargeBody,
    waiter?: string,
  ): Promise<Acceptance>;
  /**
   * Creates several tasks in one transaction (create-many.ts).
   *
   * @param nextTurn awaited between items.
   * @param alongside what else the transaction does.
   * @returns the outcome of each, in their order.
   */
  createMany(
    caller: Caller,
    items: readonly CreateItem[],
    take: TakeMany,
    nextTurn: () => Promise<void>,
    alongside?: AlongsideAccepting,
  ): Promise<readonly ManyOutcome[]>;
}

/** The account's budget of creating requests (limits/rate-limiter.ts). */
export interface CreateBudget {
  /** @returns 0, or the seconds to wait because there is no token. */
  take(): Promise<number>;
  giveBack(): void;
}

export function createTaskCreator(dependencies: CreateDependencies): TaskCreator {
  const { database, catalogue, installationId, parseBody } = dependencies;
  const databaseOf = dependencies.accountDatabase ?? (() => database);
  const mayClaim = dependencies.mayClaim ?? (() => false);
  const acceptor = createAcceptor(databaseOf, mayClaim);
  return {
    createMany: (caller, items, take, nextTurn, alongside) =>
      createMany(
        {
          databaseOf,
          installationId,
          mayClaim,
          validate: async (of, { body, idempotencyKey, batchId, large }, facts) => ({
            ...(await validateRequest(of, body, idempotencyKey, facts, large, batchId)),
            waiter: undefined,
          }),
        },
        caller,
        items,
        take,
        nextTurn,
        alongside,
      ),

    async create(caller, body, idempotencyKey, budget, large, waiter) {
      const facts = large?.facts ?? factsOf(body);
      const print = facts.fingerprint;
      const waitSeconds = (await budget?.take()) ?? 0;
      if (waitSeconds > 0) {
        // Contract §2: the key is looked up before the limit; a replay is never rejected.
        const replayed = await replayOf(caller, idempotencyKey, print);
        if (replayed === undefined) throw new RateLimitedError(waitSeconds);
        return { taskId: replayed, isReplay: true };
      }
      let task: NewTask;
      try {
        task = { ...(await validateRequest(caller, body, idempotencyKey, facts, large)), waiter };
      } catch (problem) {
        // Contract §2: the key comes before these checks. A request that passes them has its key looked up by the
        // statement that accepts.
        const replayed = await replayOf(caller, idempotencyKey, print);
        if (replayed === undefined) throw problem;
        budget?.giveBack();
        return { taskId: replayed, isReplay: true };
      }
      await large?.nextTurn();
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
    if (idempotencyKey === undefined) return undefined;
    const { accountId } = caller;
    const taskId = taskIdForKey(installationId, accountId, idempotencyKey);
    return findReplay(database, { accountId, idempotencyKey, taskId, fingerprint: print });
  }

  /** Every check that does not depend on the account's state; only media of ours need the database. */
  async function validateRequest(
    caller: Caller,
    body: Readonly<Record<string, unknown>>,
    idempotencyKey: string | undefined,
    { fingerprint: print, unstorable }: BodyFacts,
    large: LargeBody | undefined,
    batchId?: string,
  ): Promise<Omit<NewTask, 'waiter'>> {
    const parsed = parseBody(body);
    if (parsed.violation !== undefined) throw new InvalidTaskError(parsed.violation);
    const request = parsed.value;
    const model = catalogue.resolve(request.model, request.route);
    requireModel(caller, model.definition.name);
    await large?.nextTurn();
    const { inputSchema } = model.definition;
    const input = withPlainDataUrls(inputSchema, request.input);
    const problem = model.checkInput(input);
    if (problem !== undefined) assertValid(explainDataUrls(inputSchema, input, [problem])[0]);
    assertValid(unstorable);
    const { handlingSeconds, queuedSeconds } = limitsOf(model.definition);
    assertValid(findCallbackViolation(request.callback, dependencies.egressPolicy));
    assertValid(findTimeoutViolation(request.timeoutSeconds, handlingSeconds));
    const { pricing } = model.definition;
    const priceFactor = batchId === undefined ? undefined : pricing.batchFactor;
    const holdMicroUsd = worstCaseCost(pricing, input, priceFactor);
    assertValid(findMaxCostViolation(request.maxCost, holdMicroUsd));
    const media = await validateMedia(dependencies, caller.accountId, inputSchema, input);
    assertValid(media.problems[0]);
    await large?.nextTurn();
    return {
      id: idempotencyKey === undefined ? newTaskId() : taskIdForKey(installationId, caller.accountId, idempotencyKey),
      accountId: caller.accountId,
      keyId: caller.keyId,
      idempotencyKey,
      fingerprint: print,
      model: model.fullName,
      route: model.hasRoutes ? model.route : undefined,
      definitionHash: model.hash,
      inputJson: JSON.stringify(media.input),
      metadata: request.metadata,
      storage: request.storage ?? 'temp',
      timeoutSeconds: request.timeoutSeconds,
      queuedSeconds,
      callbackUrl: request.callback?.url,
      holdMicroUsd,
      priceFactor,
      batchId,
      inputObjects: media.objectKeys,
      spendCapIds: caller.spendCapIds,
    };
  }
}

/** @throws {InvalidTaskError} there is a problem. */
function assertValid(problem: Violation | undefined): void {
  if (problem !== undefined) throw new InvalidTaskError(problem);
}
