/** The requested port is in use by another process. */
export class PortInUseError extends Error {
  override readonly name = 'PortInUseError';

  constructor(port: number, variable: 'PORT' | 'ADMIN_PORT' | 'METRICS_PORT' = 'PORT') {
    super(`port ${port} is in use; stop what listens there, or set ${variable} to another`);
  }
}
