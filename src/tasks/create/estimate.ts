/**
 * What a task would cost and everything that would prevent it (contract §4): the checks of a create, all of them and
 * not only up to the first that fails. Nothing is held, and no task is created.
 */
import { readAccount } from '../../accounts/accounts.ts';
import { requireModel } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import { spendCapsLeft } from '../../billing/spend-caps.ts';
import { ContradictoryRouteError, UnknownRouteError } from '../../catalogue/catalogue.ts';
import type { Catalogue, ResolvedModel } from '../../catalogue/catalogue.ts';
import { limitsOf } from '../../catalogue/definition.ts';
import { quote } from '../../catalogue/price.ts';
import type { Pricing, Quote } from '../../catalogue/price.ts';
import type { FindViolations } from '../../schema/schema-validation.ts';
import type { Database } from '../../database/database.ts';
import { factsOf } from '../record/body-facts.ts';
import type { LargeBody } from '../record/body-facts.ts';
import { explainDataUrls, validateMedia, withPlainDataUrls } from '../record/input-media.ts';
import type { MediaValidationDependencies } from '../record/input-media.ts';
import type { Violation } from '@darkroom/api/facts/violation';
import type { CreateTaskBody } from '@darkroom/api/tasks/create-task';
import { findCallbackViolation, findMaxCostViolation, findTimeoutViolation } from './request-checks.ts';

/** The estimate of a request. */
export interface Estimate {
  /** The resolved full name, or the model's own where the route is wrong; undefined where none was named. */
  readonly model: string | undefined;
  /** The route that would be used; undefined where it is wrong. */
  readonly route: string | undefined;
  readonly pricing: Pricing | undefined;
  /** The worst case; undefined where an error makes a price impossible. */
  readonly quote: Quote | undefined;
  /** Whether balance and spend caps cover the worst case at this moment; undefined where there is no price. */
  readonly isBalanceSufficient: boolean | undefined;
  /** In the forms of contract §1; none: a create would be accepted as far as the request is concerned. */
  readonly violations: readonly Violation[];
}

export interface EstimateDependencies extends MediaValidationDependencies {
  readonly database: Database;
  readonly catalogue: Catalogue;
  /** Checks the form of the body. */
  readonly checkBody: FindViolations;
}

/**
 * Estimates a task.
 *
 * @param body as parsed: an object of any form.
 * @throws {ModelUnavailableError} @throws {ForbiddenError} there is nothing to estimate with: the model is unknown,
 *   or not permitted for this key.
 */
export async function estimateTask(
  dependencies: EstimateDependencies,
  caller: Caller,
  body: Readonly<Record<string, unknown>>,
  large?: LargeBody,
): Promise<Estimate> {
  const { database, catalogue, egressPolicy, checkBody } = dependencies;
  const violations = [...checkBody(body)];
  const report = (violation: Violation | undefined): void => {
    if (violation !== undefined) violations.push(violation);
  };
  const request = validPart(body, checkBody);
  const named = resolve(catalogue, request, report);
  if (named !== undefined) requireModel(caller, named.model.definition.name);
  if (named !== undefined && request.input !== undefined) {
    await large?.nextTurn();
    violations.push(...(await inputProblems(dependencies, caller, named.model, request.input)));
  }
  report((large?.facts ?? factsOf(body)).unstorable);
  report(findCallbackViolation(request.callback, egressPolicy));
  if (named === undefined) return { ...NOTHING_KNOWN, violations };

  const { model, isRouteKnown } = named;
  const isRouteMalformed = Object.hasOwn(body, 'route') && request.route === undefined;
  const { definition } = model;
  const price = model.hasPrice(request.input) ? quote(definition.pricing, request.input ?? {}) : undefined;
  report(findTimeoutViolation(request.timeoutSeconds, limitsOf(definition).handlingSeconds));
  if (price !== undefined) report(findMaxCostViolation(request.maxCost, price.costMicroUsd));
  return {
    model: model.fullName,
    route: isRouteKnown && !isRouteMalformed ? model.route : undefined,
    pricing: definition.pricing,
    quote: price,
    isBalanceSufficient: price === undefined ? undefined : await covers(database, caller, price.costMicroUsd),
    violations,
  };
}

const NOTHING_KNOWN = {
  model: undefined,
  route: undefined,
  pricing: undefined,
  quote: undefined,
  isBalanceSufficient: undefined,
} as const;

/** The members that are checked beyond their form. */
const VALIDATED_MEMBERS = ['model', 'input', 'callback', 'route', 'maxCost', 'timeoutSeconds'];

/** The members of a body that are valid in themselves, whatever the others are. */
function validPart(body: Readonly<Record<string, unknown>>, checkBody: FindViolations): Partial<CreateTaskBody> {
  const isValid = (name: string): boolean =>
    Object.hasOwn(body, name) && checkBody({ model: 'any', input: {}, [name]: body[name] }).length === 0;
  return Object.fromEntries(VALIDATED_MEMBERS.filter(isValid).map((name) => [name, body[name]]));
}

interface NamedModel {
  readonly model: ResolvedModel;
  readonly isRouteKnown: boolean;
}

/** A wrong route is reported like any other error; the price does not depend on it. */
function resolve(
  catalogue: Catalogue,
  { model, route }: Partial<CreateTaskBody>,
  report: (violation: Violation) => void,
): NamedModel | undefined {
  if (model === undefined) return undefined;
  try {
    return { model: catalogue.resolve(model, route), isRouteKnown: true };
  } catch (error) {
    if (!(error instanceof UnknownRouteError || error instanceof ContradictoryRouteError)) throw error;
    report({ message: error.message, field: 'route', keyword: 'enum' });
    const name = catalogue.find(model)?.name ?? model;
    return { model: catalogue.resolve(name, undefined), isRouteKnown: false };
  }
}

/** URLs are checked once the schema accepts the input: too many of them are an error of the schema. */
async function inputProblems(
  dependencies: MediaValidationDependencies,
  { accountId }: Caller,
  { checkInputAll, definition }: ResolvedModel,
  input: CreateTaskBody['input'],
): Promise<readonly Violation[]> {
  const plain = withPlainDataUrls(definition.inputSchema, input);
  const problems = checkInputAll(plain);
  if (problems.length > 0) return explainDataUrls(definition.inputSchema, plain, problems);
  return (await validateMedia(dependencies, accountId, definition.inputSchema, plain)).problems;
}

/** What accepting would check (tasks/create/accept.ts): the balance first, then the caps of the key. */
async function covers(database: Database, caller: Caller, microUsd: bigint): Promise<boolean> {
  const { availableMicroUsd } = await readAccount(database, caller.accountId);
  if (availableMicroUsd < microUsd) return false;
  const left = await spendCapsLeft(database, caller.spendCapIds);
  return left === undefined || left >= microUsd;
}
