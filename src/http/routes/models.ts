/**
 * `/v1/models`: the catalogue as a client may use it (contract §8). Its responses are bare, without the envelope, so
 * that clients of the OpenAI API can read them.
 */
import { requireModel } from '../../accounts/authenticate.ts';
import { ModelDetailSchema, ModelListSchema } from '@darkroom/api/tasks/model';
import { presentModel, presentModelDetail } from '../../presenters/model.ts';
import type { HttpContext } from '../app/context.ts';
import { DEPRECATION_HEADERS, setDeprecationHeaders } from '../middleware/response-headers.ts';
import { RequestError } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

export function modelRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/models',
      operationId: 'listModels',
      tag: 'Models',
      summary: 'List models',
      description: 'Returns the models that the key may use and that are not retired.',
      access: 'models:read',
      response: { kind: 'json', schema: ModelListSchema },
      async handle({ caller }) {
        const models = http.catalogue.available().filter(({ name }) => caller.models?.has(name) !== false);
        return { object: 'list', data: models.map(presentModel) };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/models/{modelName...}',
      operationId: 'getModel',
      tag: 'Models',
      summary: 'Get a model',
      access: 'models:read',
      params: { modelName: 'The model name, as returned by `GET /v1/models`. Slashes may be percent-encoded.' },
      response: { kind: 'json', schema: ModelDetailSchema },
      responseHeaders: DEPRECATION_HEADERS,
      errors: ['NOT_FOUND'],
      async handle({ ctx, caller, params }) {
        const { modelName = '' } = params;
        const definition = http.catalogue.available().find(({ name }) => name === modelName);
        if (definition === undefined) throw unknownModel(modelName);
        requireModel(caller, definition.name);
        setDeprecationHeaders(ctx, definition);
        return presentModelDetail(definition);
      },
    }),
  ];
}

function unknownModel(name: string): RequestError {
  const shown = JSON.stringify(name.slice(0, 64));
  return new RequestError('not_found', `no model is called ${shown}; GET /v1/models lists the models`, {
    param: 'model',
    code: 'model_not_found',
  });
}
