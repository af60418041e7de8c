/**
 * The body of `POST /tasks`, generated from the live catalogue: one form per model, each with the input schema that
 * is enforced, distinguished by `model` (spec §2.1, §2.5).
 */
import { DEFAULT_ROUTE } from '../../catalogue/definition.ts';
import type { ModelDefinition } from '../../catalogue/definition.ts';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import type { OpenApiNode, OpenApiParts } from './parts.ts';

export interface CreateTaskBody {
  schema(parts: OpenApiParts): OpenApiNode;
  readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

export function createTaskBody(models: readonly ModelDefinition[]): CreateTaskBody {
  const names = componentNames(models);
  return {
    schema(parts) {
      if (models.length === 0) return parts.schema(CreateTaskSchema);
      const forms = models.map((model) => ({ model, form: formOf(model, names.get(model) ?? '', parts) }));
      const mapping = forms.flatMap(({ model, form }) => namesOf(model).map((name) => [name, form['$ref']]));
      return parts.addSchema('CreateTask', () => ({
        oneOf: forms.map(({ form }) => form),
        discriminator: { propertyName: 'model', mapping: Object.fromEntries(mapping) },
      }));
    },
    examples: Object.fromEntries(models.flatMap(examplesOf)),
  };
}

/** Every form of a model's name: `base`, and the older `base@route` of its routes. */
function namesOf({ name, routes }: ModelDefinition): readonly string[] {
  return [name, ...Object.keys(routes).map((route) => `${name}@${route}`)];
}

function formOf(model: ModelDefinition, componentName: string, parts: OpenApiParts): OpenApiNode {
  return parts.addSchema(`CreateTask.${componentName}`, () => {
    const input = parts.addSchema(`Input.${componentName}`, () => ({
      description: model.description,
      ...parts.schema(model.inputSchema),
    }));
    const { properties, ...rest } = parts.schema(CreateTaskSchema);
    const routes = Object.keys(model.routes);
    return {
      title: model.name,
      ...rest,
      properties: {
        ...(properties as OpenApiNode),
        model: { type: 'string', enum: namesOf(model) },
        input,
        route: {
          type: 'string',
          enum: ['', ...routes],
          description: `The route to use. If omitted, \`""\` or \`${DEFAULT_ROUTE}\`, the default route is used.`,
        },
      },
    };
  });
}

function examplesOf(model: ModelDefinition): readonly [string, { summary: string; value: unknown }][] {
  return model.examples.map((input, index) => {
    const name = model.examples.length === 1 ? model.name : `${model.name} ${index + 1}`;
    return [name, { summary: `${name} (${model.modality})`, value: { model: model.name, input } }];
  });
}

/** Component names of models, in the characters that OpenAPI allows, no two the same. */
function componentNames(models: readonly ModelDefinition[]): ReadonlyMap<ModelDefinition, string> {
  const taken = new Set<string>();
  return new Map(
    models.map((model) => {
      const base = model.name.replaceAll(/[^A-Za-z0-9._-]/g, '.');
      let name = base;
      for (let number = 2; taken.has(name); number++) name = `${base}-${number}`;
      taken.add(name);
      return [model, name];
    }),
  );
}
