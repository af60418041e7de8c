/** The body of a create, as far as the dashboard uses it. */
import type { Static } from 'typebox';
import type { CreateTaskSchema } from '@darkroom/api/tasks/create-task';

export type TaskRequest = Readonly<Pick<Static<typeof CreateTaskSchema>, 'model' | 'input' | 'route' | 'storage'>>;
