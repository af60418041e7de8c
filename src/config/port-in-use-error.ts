import { DarkroomError } from '../domain/darkroom-error.ts';

/** The requested port is in use by another process. */
export class PortInUseError extends DarkroomError {
  override readonly name = 'PortInUseError';
  override readonly kind = 'operator_action_required';

  constructor(port: number, variable: 'PORT' | 'ADMIN_PORT' | 'METRICS_PORT' = 'PORT') {
    super(`port ${port} is in use; stop what listens there, or set ${variable} to another`);
  }
}
