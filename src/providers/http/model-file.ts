/**
 * Reads a model file's expressions for one request: provides what they may see, and turns an expression that fails
 * into a missing value. The operator's log has a line for each that fails or gives something else than its position
 * needs. No text that an expression sees gets into that line.
 */
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../telemetry/log.ts';
import { upstreamName } from '../../upstreams/upstream-caps.ts';
import type { AnswerThreads } from '../answer-threads.ts';
import type { GenerationRequest } from '../provider.ts';
import type { Workbench } from '../workbench.ts';
import { findBinding } from './binding.ts';
import type { FormPartBinding } from './binding.ts';
import { describeValue, findUnmetExpectation } from './expected-values.ts';
import { ExpressionError, evaluateExpressions } from './expressions.ts';
import type { MediaValue } from './media-inputs.ts';

/** What an expression sees in addition to the input and the names of model and task. */
export interface ExpressionContext {
  /** The provider's response. */
  readonly document?: unknown;
  readonly jobId?: string;
  readonly httpStatus?: number;
  readonly hookUrl?: string | undefined;
  readonly hookSecret?: string | undefined;
  /** The files of the input, in the shape of the input. */
  readonly media?: unknown;
  /** The file that is being uploaded. */
  readonly file?: Omit<MediaValue, 'base64' | 'dataUrl'>;
  /** Replaces the input, whose files have become references. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** Whether it is fine that an expression gives nothing of use: the response may be a refusal. Not seen by it. */
  readonly isTentative?: boolean;
  /** Ends the wait for a thread, with its reason. Not seen by it; absent where the response may not be lost. */
  readonly signal?: AbortSignal;
}

/** The value of each expression; undefined if it has none. */
export type Values<Name extends string> = Readonly<Record<Name, unknown>>;

export interface ModelFile {
  /**
   * Reads expressions over a response.
   *
   * @param within the member of the binding that has them; default: the binding itself.
   */
  read<Name extends string>(
    request: GenerationRequest,
    expressions: Readonly<Record<Name, string | undefined>>,
    context: ExpressionContext,
    within?: string,
  ): Promise<Values<Name>>;
  /** Reads a request to send. */
  readRequest(
    request: GenerationRequest,
    texts: RequestTexts,
    context: ExpressionContext,
    within: 'submit' | 'upload' | 'upload.send',
  ): Promise<RequestValues>;
}

/** The expressions of a request. */
export interface RequestTexts {
  readonly path?: string;
  /** Instead of `path`. */
  readonly url?: string;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly form?: readonly FormPartBinding[] | undefined;
}

/** Their values. */
export interface RequestValues {
  readonly address: unknown;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
  /** For each part of the form what its `value` or `fields` gives. */
  readonly form: readonly unknown[];
}

/** How many lines are remembered, so that a job that is polled for an hour has each of them once. */
const MAX_NOTED = 2_000;

export function createModelFile(logger: Logger, threads: AnswerThreads, workbench?: Workbench): ModelFile {
  const noted = new LRUCache<string, true>({ max: MAX_NOTED });

  const log = (
    { taskId, upstream }: GenerationRequest,
    fields: Readonly<Record<string, string>>,
    message: string,
  ): void => {
    const key = JSON.stringify([taskId, fields]);
    if (noted.has(key)) return;
    noted.set(key, true);
    logger.warn(
      { taskId, protocol: 'http', upstream: upstreamName(upstream), model: upstream.model, ...fields },
      message,
    );
  };

  const read: ModelFile['read'] = async (request, texts, { document, isTentative, signal, ...context }, within) => {
    const { taskId, upstream } = request;
    const scope = { baseUrl: upstream.baseUrl, hosts: findBinding(upstream)?.hosts };
    const memberOf = (name: string): string => (within === undefined ? name : `${within}.${name}`);
    const note = (error: unknown): ExpressionError => {
      if (!(error instanceof ExpressionError)) throw error;
      const member = error.names.map(memberOf).join(', ');
      log(request, { member, code: error.code }, 'expression of the model file produced no value');
      return error;
    };
    const check = (member: string, value: unknown): void => {
      // The workbench says so itself, with the value.
      if (isTentative === true || workbench !== undefined) return;
      const expected = findUnmetExpectation(member, value, scope);
      if (expected === undefined) return;
      const found = describeValue(value);
      log(request, { member, expected, found }, 'expression of the model file gave an unusable value');
    };
    const names = Object.keys(texts) as (keyof typeof texts)[];
    const variables = { input: inputOf(request), ...context, model: upstream.model, taskId };
    const evaluated = evaluateExpressions(threads, upstreamName(upstream), texts, { document, variables }, signal);
    const values = await evaluated.catch(note);
    const resultOf = (name: keyof typeof texts): unknown => {
      if (values instanceof ExpressionError) return values;
      try {
        return values.of(name);
      } catch (error) {
        return note(error);
      }
    };
    const valueOf = (name: keyof typeof texts): unknown => {
      const result = resultOf(name);
      const error = result instanceof ExpressionError ? result.detail : undefined;
      const value = error === undefined ? result : undefined;
      if (texts[name] === undefined) return value;
      const member = memberOf(name);
      if (error === undefined) check(member, value);
      workbench?.onExpression({ member, document, value, error });
      return value;
    };
    return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Values<keyof typeof texts>;
  };

  return {
    read,
    async readRequest(request, { path, url, body, headers = {}, form = [] }, context, within) {
      const values = await read<string>(
        request,
        {
          path,
          url,
          body,
          ...Object.fromEntries(Object.entries(headers).map(([name, text]) => [`headers.${name}`, text])),
          ...Object.fromEntries(
            form.flatMap(({ value, fields }, index) => [
              [`form.${index}.value`, value],
              [`form.${index}.fields`, fields],
            ]),
          ),
        },
        context,
        within,
      );
      return {
        address: values[path === undefined ? 'url' : 'path'],
        body: values['body'],
        headers: Object.fromEntries(Object.keys(headers).map((name) => [name, values[`headers.${name}`]])),
        form: form.map(({ value }, index) => values[`form.${index}.${value === undefined ? 'fields' : 'value'}`]),
      };
    },
  };
}

/** The client's fields, overridden by those that are always sent. */
export function inputOf({ input, upstream }: GenerationRequest): Readonly<Record<string, unknown>> {
  return { ...input, ...upstream.parameters };
}
