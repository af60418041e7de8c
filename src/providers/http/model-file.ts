/**
 * Reads a model file's expressions for one request: gives them what they may see, and turns an expression that fails into
 * a value that is not there, with a line for the operator. Nothing that an expression sees gets into that line.
 */
import type { HttpBinding } from '../../catalogue/http-binding.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { GenerationRequest } from '../provider.ts';
import { ExpressionError, createExpressions } from './expressions.ts';

/** What an expression sees beside the input and the names of model and task. */
export interface Sight {
  /** The provider's answer. */
  readonly document?: unknown;
  readonly jobId?: string;
  readonly httpStatus?: number;
  readonly hookUrl?: string | undefined;
}

/** The value of each expression; undefined where it has none. */
export type Values<Name extends string> = Readonly<Record<Name, unknown>>;

export interface ModelFile {
  /** Reads expressions over an answer. */
  read<Name extends string>(
    request: GenerationRequest,
    expressions: Readonly<Record<Name, string | undefined>>,
    sight: Sight,
  ): Promise<Values<Name>>;
  /** Reads what is to be sent, over the input. */
  readOrder(
    request: GenerationRequest,
    http: HttpBinding,
    sight: Sight,
  ): Promise<Values<'path' | 'body'> & { readonly headers: Readonly<Record<string, unknown>> }>;
}

const HEADER = 'header ';

export function createModelFile(logger: Logger): ModelFile {
  const expressions = createExpressions();

  const read: ModelFile['read'] = async (request, texts, { document, ...sight }) => {
    const { taskId, upstream } = request;
    const note = (error: unknown): undefined => {
      if (!(error instanceof ExpressionError)) throw error;
      const { place, code } = error;
      logger.warn(
        { taskId, protocol: 'http', model: upstream.model, place, code },
        'an expression of the model file gave no value',
      );
      return undefined;
    };
    const names = Object.keys(texts) as (keyof typeof texts)[];
    const variables = { ...sight, input: inputOf(request), model: upstream.model, taskId };
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
    async readOrder(request, { submit }, sight) {
      const headers = Object.entries(submit.headers ?? {});
      const values: Readonly<Record<string, unknown>> = await read<string>(
        request,
        {
          path: submit.path,
          body: submit.body,
          ...Object.fromEntries(headers.map(([name, text]) => [`${HEADER}${name}`, text])),
        },
        { ...sight, document: inputOf(request) },
      );
      return {
        path: values['path'],
        body: values['body'],
        headers: Object.fromEntries(headers.map(([name]) => [name, values[`${HEADER}${name}`]])),
      };
    },
  };
}

/** The caller's fields, with those over them that are always sent. */
function inputOf({ input, upstream }: GenerationRequest): Readonly<Record<string, unknown>> {
  return { ...input, ...upstream.parameters };
}
