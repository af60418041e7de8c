/**
 * The tools that start nothing: the models, their inputs, and the price of a task.
 */
import { MODALITIES } from '@darkroom/api/facts/modalities';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { modelPath } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { modelField, taskInputField } from './fields.ts';
import { answered, runTool } from './tool-result.ts';

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
        'Lists the available models, with the purpose of each and its price in USD. Choose one, then call get_model for its input schema.',
      inputSchema: z.strictObject({
        modality: z.enum(MODALITIES).optional().describe('Only models of this modality. Absent: all.'),
      }),
      annotations: READS,
    },
    ({ modality }, { signal }) =>
      runTool(async () => {
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
        'Returns everything about one model: the JSON Schema of its input, its price, and examples of inputs that it accepts. Call it before the first generate, estimate or text with a model.',
      inputSchema: z.strictObject({ model: modelField }),
      annotations: READS,
    },
    ({ model }, { signal }) => runTool(async () => answered(await api.call('GET', modelPath(model), { signal }))),
  );

  server.registerTool(
    'estimate',
    {
      title: 'Estimate a task',
      description:
        'Returns what generate would cost with the same model and input, in USD, and whether the balance covers it. Starts nothing and is free. `errors` lists every problem of the input, each with its field; if it is empty, generate would accept the input. Not for text models.',
      inputSchema: z.strictObject({ model: modelField, input: taskInputField }),
      annotations: READS,
    },
    (body, { signal }) => runTool(async () => answered(await api.call('POST', '/tasks/estimate', { body, signal }))),
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
