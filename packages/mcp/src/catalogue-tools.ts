/**
 * The tools that start nothing: which models there are, which fields one takes, and what a task would cost.
 */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { modelPath } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { modelField, taskInputField } from './fields.ts';
import { answered, telling } from './tool-result.ts';

/** The members of a listed model that are needed to choose one; get_model returns the rest. */
interface ListedModel {
  readonly id: string;
  readonly modality: string;
  readonly description: string;
  readonly routes: readonly string[];
  readonly pricing: unknown;
  readonly deprecation: number | null;
  readonly replacement: string | null;
}

const READS = { readOnlyHint: true, openWorldHint: false } as const;

export function addCatalogueTools(server: McpServer, api: ApiClient): void {
  server.registerTool(
    'list_models',
    {
      title: 'List models',
      description:
        'Lists the models that may be used, with what each is for and what it costs in USD. Choose one here, then call get_model for the input that it takes.',
      inputSchema: z.strictObject({
        modality: z
          .enum(['image', 'video', 'audio', 'text'])
          .optional()
          .describe('Only models that make this. Absent: all.'),
      }),
      annotations: READS,
    },
    ({ modality }, { signal }) =>
      telling(async () => {
        const { data } = await api.call<{ readonly data: readonly ListedModel[] }>('GET', '/models', { signal });
        const models = modality === undefined ? data : data.filter((model) => model.modality === modality);
        return answered({ models: models.map(listed) });
      }),
  );

  server.registerTool(
    'get_model',
    {
      title: 'Get a model',
      description:
        'Tells everything about one model: the JSON Schema of its input, its price, and examples of inputs that it accepts. Call it before the first generate, estimate or text with a model.',
      inputSchema: z.strictObject({ model: modelField }),
      annotations: READS,
    },
    ({ model }, { signal }) => telling(async () => answered(await api.call('GET', modelPath(model), { signal }))),
  );

  server.registerTool(
    'estimate',
    {
      title: 'Estimate a task',
      description:
        'Tells what generate would cost with the same model and input, in USD, and whether the balance covers it. Starts nothing and is free. Where something is wrong, `errors` lists all of it, each with its field; empty means that generate would accept it. Not for text models.',
      inputSchema: z.strictObject({ model: modelField, input: taskInputField }),
      annotations: READS,
    },
    (body, { signal }) => telling(async () => answered(await api.call('POST', '/tasks/estimate', { body, signal }))),
  );
}

function listed({ id, modality, description, routes, pricing, deprecation, replacement }: ListedModel): unknown {
  return {
    id,
    modality,
    description,
    pricing,
    ...(routes.length > 1 ? { routes } : {}),
    ...(deprecation === null ? {} : { deprecation, replacement }),
  };
}
