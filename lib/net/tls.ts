import { createSecureContext, type TlsOptions } from 'node:tls';
import { defined } from '../job/defined.js';
import { reasonOf } from '../job/error-info.js';
import { ConfigurationError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';

/** A certificate or key, in PEM. */
export type Pem = string | Buffer;

/** A certificate and its key: both or none. */
export interface TlsIdentity {
  cert?: Pem;
  key?: Pem;
}

/** A server's certificate, and which clients it accepts. */
export interface ServerTls extends Required<TlsIdentity> {
  passphrase?: string;
  /** Accepts only clients with a certificate signed by this CA. */
  clientCa?: Pem;
}

/** Which servers a client trusts, and the certificate it shows if a server asks for one. */
export interface ClientTls extends TlsIdentity {
  /** CAs to trust instead of the well-known ones. */
  ca?: Pem | readonly Pem[];
}

const SERVER_TLS = optionNames<ServerTls>({ cert: true, key: true, passphrase: true, clientCa: true });
const CLIENT_TLS = optionNames<ClientTls>({ cert: true, key: true, ca: true });

/** Converts to the options of Node's TLS servers. */
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

/** Converts to the options of Node's TLS clients. */
export function clientTlsOptions({ ca, cert, key }: ClientTls): { ca?: Pem[]; cert?: Pem; key?: Pem } {
  return defined({ ca: ca === undefined ? undefined : [ca].flat(), cert, key });
}

/** Checks at startup that OpenSSL accepts these options. @throws ConfigurationError */
export function checkServerTls(option: string, tls: ServerTls): void {
  checkTls(option, checkOptions(option, tls, SERVER_TLS), serverTlsOptions(tls));
}

/** Checks a client's options in the same way. @throws ConfigurationError */
export function checkClientTls(option: string, tls: ClientTls): void {
  checkTls(option, checkOptions(option, tls, CLIENT_TLS), clientTlsOptions(tls));
}

function checkTls(option: string, { cert, key }: TlsIdentity, options: TlsOptions): void {
  if ((cert === undefined) !== (key === undefined))
    throw new ConfigurationError(`\`${option}\` has only one of \`cert\` and \`key\`. Give both.`);
  try {
    createSecureContext(options);
  } catch (error) {
    throw new ConfigurationError(
      `The certificates of \`${option}\` can't be used: ${reasonOf(error)}. Pass certificates and keys in PEM format.`,
    );
  }
}
