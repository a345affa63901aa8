import { createSecureContext, type TlsOptions } from 'node:tls';
import { defined } from '../job/defined.js';
import { ConfigurationError, messageOf } from '../job/errors.js';

/** A certificate or key, in PEM. */
export type Pem = string | Buffer;

/** A certificate and its key: both or none. */
export interface TlsIdentity {
  cert?: Pem;
  key?: Pem;
}

/** How a server shows who it is, and whom it lets in. */
export interface ServerTls extends Required<TlsIdentity> {
  passphrase?: string;
  /** Only clients that show a certificate of this authority are served. */
  clientCa?: Pem;
}

/** How a client finds out who answers, and what it shows a server that asks for it. */
export interface ClientTls extends TlsIdentity {
  /** Authorities to trust in place of the well-known ones. */
  ca?: Pem | readonly Pem[];
}

/** As Node's servers take it. */
export function serverTlsOptions({
  cert,
  key,
  passphrase,
  clientCa: ca,
}: ServerTls): Pick<TlsOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'requestCert' | 'rejectUnauthorized'> {
  const asksForCertificates = ca === undefined ? undefined : true;
  return defined({
    ...{ cert, key, passphrase, ca },
    requestCert: asksForCertificates,
    rejectUnauthorized: asksForCertificates,
  });
}

/** As Node's clients take it. */
export function clientTlsOptions({ ca, cert, key }: ClientTls): { ca?: Pem[]; cert?: Pem; key?: Pem } {
  return defined({ ca: ca === undefined ? undefined : [ca].flat(), cert, key });
}

/** Finds out now what OpenSSL makes of it. @throws ConfigurationError */
export function checkServerTls(option: string, tls: ServerTls): void {
  checkTls(option, tls, serverTlsOptions(tls));
}

/** The same for a client's. @throws ConfigurationError */
export function checkClientTls(option: string, tls: ClientTls): void {
  checkTls(option, tls, clientTlsOptions(tls));
}

function checkTls(option: string, { cert, key }: TlsIdentity, options: TlsOptions): void {
  if ((cert === undefined) !== (key === undefined))
    throw new ConfigurationError(`\`${option}\` has only one of \`cert\` and \`key\`. Give both.`);
  try {
    createSecureContext(options);
  } catch (error) {
    throw new ConfigurationError(
      `The certificates of \`${option}\` can't be used: ${messageOf(error)}. Give PEM.`,
    );
  }
}
