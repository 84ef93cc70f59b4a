import 'intento';
import { generic } from 'intento/contracts';
import * as contracts from 'intento/contracts';

const id: string = generic.id;
void id;

// @ts-expect-error a contract is read-only: another content is another contract
generic.id = 'other';

// @ts-expect-error only the contracts that ship have a name
void contracts.unknownProvider;
