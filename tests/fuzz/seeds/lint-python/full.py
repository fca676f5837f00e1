import os
os.environ['CUDA_VISIBLE_DEVICES'] = a + b + c + d.e
