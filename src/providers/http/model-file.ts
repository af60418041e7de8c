/**
 * Reads a model file's expressions for one request: provides what they may see, and turns an expression that fails
 * into a missing value, with a log line for the operator. Nothing that an expression sees gets into that line.
 */
import type { HttpBinding } from './binding.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { GenerationRequest } from '../provider.ts';
import { ExpressionError, createExpressions } from './expressions.ts';

/** What an expression sees in addition to the input and the names of model and task. */
export interface ExpressionContext {
  /** The provider's response. */
  readonly document?: unknown;
  readonly jobId?: string;
  readonly httpStatus?: number;
  readonly hookUrl?: string | undefined;
}

/** The value of each expression; undefined if it has none. */
export type Values<Name extends string> = Readonly<Record<Name, unknown>>;

export interface ModelFile {
  /** Reads expressions over a response. */
  read<Name extends string>(
    request: GenerationRequest,
    expressions: Readonly<Record<Name, string | undefined>>,
    context: ExpressionContext,
  ): Promise<Values<Name>>;
  /** Reads the request to send, over the input. */
  readRequest(
    request: GenerationRequest,
    http: HttpBinding,
    context: ExpressionContext,
  ): Promise<Values<'path' | 'body'> & { readonly headers: Readonly<Record<string, unknown>> }>;
}

const HEADER = 'header ';

export function createModelFile(logger: Logger): ModelFile {
  const expressions = createExpressions();

  const read: ModelFile['read'] = async (request, texts, { document, ...context }) => {
    const { taskId, upstream } = request;
    const note = (error: unknown): undefined => {
      if (!(error instanceof ExpressionError)) throw error;
      const { expression, code } = error;
      logger.warn(
        { taskId, protocol: 'http', model: upstream.model, place: expression, code },
        'expression of the model file produced no value',
      );
      return undefined;
    };
    const names = Object.keys(texts) as (keyof typeof texts)[];
    const variables = { ...context, input: inputOf(request), model: upstream.model, taskId };
    const values = await expressions.evaluate(texts, document, variables).catch(note);
    const valueOf = (name: keyof typeof texts): unknown => {
      try {
        return values?.of(name);
      } catch (error) {
        return note(error);
      }
    };
    return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Values<keyof typeof texts>;
  };

  return {
    read,
    async readRequest(request, { submit }, context) {
      const headers = Object.entries(submit.headers ?? {});
      const values: Readonly<Record<string, unknown>> = await read<string>(
        request,
        {
          path: submit.path,
          body: submit.body,
          ...Object.fromEntries(headers.map(([name, text]) => [`${HEADER}${name}`, text])),
        },
        { ...context, document: inputOf(request) },
      );
      return {
        path: values['path'],
        body: values['body'],
        headers: Object.fromEntries(headers.map(([name]) => [name, values[`${HEADER}${name}`]])),
      };
    },
  };
}

/** The client's fields, overridden by those that are always sent. */
function inputOf({ input, upstream }: GenerationRequest): Readonly<Record<string, unknown>> {
  return { ...input, ...upstream.parameters };
}
