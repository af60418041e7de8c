/** The body of a create, as far as the dashboard uses it. */
import type { Static } from 'typebox';
import type { CreateTaskSchema } from '../../../src/wire/create-task.ts';

export type TaskRequest = Readonly<Pick<Static<typeof CreateTaskSchema>, 'model' | 'input' | 'route' | 'storage'>>;
