import { Experimental, IndexedMerkleMap } from 'o1js';

// @minatokens/storage 0.15.2 takes it from Experimental, where o1js 2.15 has it no more. So this is imported first.
Object.assign(Experimental, { IndexedMerkleMap });
